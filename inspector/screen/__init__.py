"""The Gradio side of the screen: its form, its files, what a page may ask for and is sent."""
