"""Names of schemas that generated code has for something of its own: the latter gives way.

A module is rendered with stand-ins for such names, so that no name means two things in its text
(`stand_ins.py`). Where a name would catch what another meant once the stand-ins are gone
(`scopes.py`), the code's own gets another (`giving_way.py`). Modules without such a meeting are as
if none of this was there.
"""
