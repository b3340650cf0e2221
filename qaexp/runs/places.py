"""Replaces folders in a configuration by the names of their options, so that it is the same on every machine."""

from collections.abc import Mapping
from typing import Any


def places_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Maps the folders of data and of the cache to the names of their options."""
    return {config[name]: name for name in ("data_dir", "cache_dir") if isinstance(config.get(name), str)}


def with_places(node: Any, places: Mapping[str, str]) -> Any:
    """Replaces each of these folders by its name, in every path that is the folder or below it.

    >>> with_places({"folder": "/home/me/data/wikiqa"}, {"/home/me/data": "data_dir"})
    {'folder': 'data_dir/wikiqa'}
    >>> with_places(["/data/cache/own", "/data_of_mine"], {"/data": "data_dir", "/data/cache": "cache_dir"})
    ['cache_dir/own', '/data_of_mine']
    """
    if isinstance(node, dict):
        return {name: with_places(value, places) for name, value in node.items()}
    if isinstance(node, list):
        return [with_places(value, places) for value in node]
    for place in sorted(places, key=len, reverse=True):  # one folder may be inside the other
        if isinstance(node, str) and (node == place or node.startswith(f"{place}/")):
            return places[place] + node[len(place) :]
    return node
