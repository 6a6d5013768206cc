lifetimes = {
    "30 s after an answer of 5 s, 10 more": "5m",
    "30 s after an answer of 5 s, 1 more": "5m",
    "30 s after an answer of 5 s, none more": "none",
    "420 s after an answer of 10 s, 10 more": "1h",
    "420 s after an answer of 10 s, 1 more": "none",
    "240 s after an answer of 60 s, 10 more": "5m",
    "3,550 s after an answer of 60 s, 10 more": "1h",
}
