"""Why a run failed, from its facts and its output. Pure: no IO, no clock, no randomness."""

from medbay.core.diagnosis.engine import diagnose
from medbay.core.diagnosis.record import CATEGORIES, Diagnosis, Location, Pattern, RunnerUp

__all__ = ["CATEGORIES", "Diagnosis", "Location", "Pattern", "RunnerUp", "diagnose"]
