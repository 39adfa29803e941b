"""`trex-tui mcp`: tools for agents over the Model Context Protocol.

`tools` are functions without the protocol, `server` offers them, `roots` limits what they read.
"""
