"""The library is imported as the package does, without its warnings."""

import qaexp.tracking.dashboard  # noqa: F401
