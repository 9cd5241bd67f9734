"""Intake: captures become candidates by way of workorders, an agent and a gate. Pure."""
