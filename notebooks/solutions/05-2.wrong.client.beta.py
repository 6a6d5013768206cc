form = {
    "client": "client.beta",
    "betas": ["context-management-2025-06-27", "compact-2026-01-12"],
    "clearing": "clear_tool_uses_20250919",
    "thinking": "clear_thinking_20251015",
    "compaction": "compact_20260112",
    "order": ["thinking", "clearing", "compaction"],
    "trigger": 50_000,
    "parameter": {"type": "adaptive"},
}
