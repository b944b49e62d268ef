"""Tables, figures and the HTML report of a collected study."""
