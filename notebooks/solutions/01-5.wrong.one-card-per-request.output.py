haiku_usd = {
    "5,000 in, 2,000 out": 0.0015,
    "100,000 in, nothing out": 0.0100,
    "100,001 in, nothing out": 0.0500,
    "250,000 in, 4,000 out": 0.1350,
    "99,000 in, 3,000 out": 0.0570,
}
