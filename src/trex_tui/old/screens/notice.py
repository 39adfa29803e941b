"""Notifications whose toasts never stop the program."""

from __future__ import annotations

from textual.notifications import Notification

SHORTEST_S = 0.1


class Notice(Notification):
    """A notification that is shown for a moment even if it expires while its toast is made.

    A toast is made if the notification has not expired, and then sets a timer to the time left. If it expires in between, or
    the clock is set forward, the time is negative, and Textual's timer then loops forever and blocks all keys.
    """

    @property
    def time_left(self) -> float:
        """Seconds until the toast closes, at least `SHORTEST_S`."""
        return max(super().time_left, SHORTEST_S)

    @property
    def has_expired(self) -> bool:
        """True if the notification has expired for new toasts, for example on another screen."""
        return super().time_left <= 0
