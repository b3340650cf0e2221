"""Whether W&B has a key on this machine."""

import netrc
import os
from urllib.parse import urlparse


def has_key() -> bool:
    """Whether W&B can log in without asking: a key in the environment or in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc(os.environ.get("NETRC")).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
