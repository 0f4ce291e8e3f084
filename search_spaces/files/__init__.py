"""Files and texts of producer properties: reading, writing, pasting and translating them."""
