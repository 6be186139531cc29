"""n-gram language models: counted (`counting`), smoothed (`smoothing`), kept as one trie in arrays (`table`), queried
(`scoring`, `generator`), read and written as ARPA files (`arpa`). `building.count` goes from tokens to a model."""
