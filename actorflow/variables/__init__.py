"""Variables: tensors that outlive a run, the scopes that share them, and what they start with."""
