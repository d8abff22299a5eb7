"""Pictures of layouts and schedules, as SVG."""
