"""The page of the playground: what is drawn, and what becomes of what people do."""
