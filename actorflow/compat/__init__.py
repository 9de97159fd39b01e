"""Other libraries' names over actorflow's."""
