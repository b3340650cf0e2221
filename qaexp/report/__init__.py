"""Pictures and pages of what was measured, made locally."""
