"""The cadences of a rehearsal: every wait that a scenario meets, short enough for real time."""

from __future__ import annotations

SETTINGS = {
    "cadence__deprovisioningPoll": "1s",
    "cadence__pendingPodRetry": "1s",
    "cadence__drainPoll": "200ms",
    "cadence__cordonQuiet": "1s",
    "cadence__consolidationValidation": "1s",
    "cadence__driftPoll": "2s",
    "cadence__nodeTemplateRefresh": "2s",
    "cadence__instanceLook": "1s",
    "cadence__terminateAgain": "1s",
    "cadence__admittedWait": "2s",
    "cadence__drainCutOff": "4s",
    "cadence__detachLimit": "6s",
    "cadence__stuckTerminating": "2s",
    "cadence__lostNodeLimit": "6s",
    "cadence__machineGc": "2s",
    "cadence__machineGcGrace": "1s",
    "cadence__instanceGcStart": "1s",
    "cadence__instanceGc": "2s",
    "cadence__instanceGcGrace": "3s",
    "cadence__evictionBackoff": "50ms",
    "cadence__evictionBackoffMost": "1s",
    "cadence__eventDedupe": "1s",
}
