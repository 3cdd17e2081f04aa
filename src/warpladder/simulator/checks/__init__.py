"""What is counted of a launch, and which faults are looked for and reported."""
