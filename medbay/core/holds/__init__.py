"""What holds tasks back: breakers, incidents, and the reasons in their order."""
