"""The built-in rules, with a module per family. Every `Rule` at the top level of a module is registered."""
