"""Issues of a tracker as a source of work: the record in their notes, tiers, which of them may be dispatched."""
