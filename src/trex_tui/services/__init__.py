"""What the interface does with the world outside: directories, files it writes, the clipboard. None of it knows Textual."""
