"""The enums and flags that fields use."""

from enum import IntEnum, IntFlag


class Access(IntFlag):
    """Any combination of rights.

    Stored as u8, 0 by default.
    """

    read = 1
    write = 2
    execute = 4


class Animation(IntEnum):
    """What the AI's body is doing.

    Stored as u8, idle by default.
    """

    idle = 0
    walk = 1
    attack = 2
    die = 3


class Condition(IntEnum):
    """Stored as u8, susceptible by default."""

    susceptible = 0
    infectious = 1
    recovered = 2


class Effect(IntEnum):
    """What an effect does to its victim.

    Stored as u8, none by default.
    """

    none = 0
    poison = 1
    slow = 2
    haste = 3
    shield = 4


class Element(IntEnum):
    """Kinds of damage.

    Stored as u8, blunt by default.
    """

    blunt = 0
    fire = 1
    frost = 2


class Loot(IntEnum):
    """What a dead enemy drops.

    Stored as u8, nothing by default.
    """

    nothing = 0
    coins = 1
    sword = 10
    potion = 20


class Mode(IntEnum):
    """One of several states.

    Stored as u16, off by default.
    """

    off = 0
    standby = 5
    running = 300
