"""What a person sees: one module per screen."""
