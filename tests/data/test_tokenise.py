"""Words of any script: marks stay with their letters, and what nobody sees splits no word."""

import unicodedata

import pytest

from qaexp.data.tokenise import words_v1, words_v2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी किताब", ["हिन्दी", "किताब"]),
        ("दिन, दान", ["दिन", "दान"]),
        ("ที่นี่ดีมาก", ["ที่นี่ดีมาก"]),
        ("العَرَبِيَّة", ["العَرَبِيَّة"]),
        ("שָׁלוֹם תமிழ்", ["שָׁלוֹם", "תமிழ்"]),
        ("İstanbul'da", ["i\u0307stanbul'da"]),
        (unicodedata.normalize("NFD", "thành phố Đà Nẵng"), ["thành", "phố", "đà", "nẵng"]),
        ("in\u00adfor\u00admation \ufeffwhat\u2060ever", ["information", "whatever"]),
        ("می\u200cخواهم\u200c .", ["می\u200cخواهم"]),
        ("U.S. 1,000 don’t café-au-lait_x", ["u.s.", "1,000", "don't", "café", "au", "lait", "x"]),
        ("\u00a0\u200b!", []),
        (unicodedata.normalize("NFD", "한국어를 배우다"), ["한국어를", "배우다"]),
        ("我喜欢Python3，你呢？", ["我", "喜", "欢", "python3", "你", "呢"]),
        (unicodedata.normalize("NFD", "ラーメン・パン 々𠮷"), ["ラ", "ー", "メ", "ン", "パ", "ン", "々", "𠮷"]),
        ("ဘာသာ စကား ភាសា", ["ဘာသာ", "စကား", "ភាសា"]),
    ],
)
def test_words_of_any_script_stay_whole(text: str, words: list[str]) -> None:
    assert words_v2(text) == words


def test_the_first_version_reads_as_it_did() -> None:
    assert words_v1("दिन İstanbul u.s. don’t") == ["द", "न", "i", "stanbul", "u.s.", "don't"]
