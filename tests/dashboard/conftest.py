"""The library is imported as the package does, without its warnings."""

import qaexp.dashboard  # noqa: F401
