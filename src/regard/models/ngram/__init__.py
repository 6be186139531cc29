"""n-gram language models: counting, smoothing, the trie in arrays (`table`), the model (`generator`) and ARPA files;
`building.count` makes a model from tokens."""
