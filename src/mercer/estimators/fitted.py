"""The mark of attributes that some fits only set."""

from mercer.features.params import SOMETIMES as SOMETIMES
