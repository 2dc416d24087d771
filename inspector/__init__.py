"""What people see of a session: plain view data, the controller behind it, and the Gradio page on top."""
