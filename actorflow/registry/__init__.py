"""How ops and kernels are declared, registered and found."""
