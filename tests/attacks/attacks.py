"""Imports all attacks; finds them by name."""

import by_control_frames  # noqa: F401  each adds its own to the table
import by_handshakes  # noqa: F401
import by_headers  # noqa: F401
import by_streams  # noqa: F401
from table import ATTACKS  # noqa: F401
