"""The rules, a module for each family. Every `Rule` at the top of a module is registered."""
