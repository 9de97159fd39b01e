"""`tf.contrib.seq2seq`: decoders of sequences with attention and beam search.

attention.py  mechanisms of attention, and the cell that has them
beam.py       beam search
decoding.py   `Decoder`, `BasicDecoder` and `dynamic_decode`
helpers.py    the inputs of a decoder: from data, or from its own outputs
losses.py     `sequence_loss` and `hardmax`
"""

from actorflow.compat.contrib.parts import part as _part

__getattr__, __dir__, __all__ = _part(
    "seq2seq",
    {
        ".seq2seq.attention": "AttentionMechanism AttentionWrapper AttentionWrapperState BahdanauAttention LuongAttention",
        ".seq2seq.beam": "BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState FinalBeamSearchDecoderOutput "
        "gather_tree tile_batch",
        ".seq2seq.decoding": "BasicDecoder BasicDecoderOutput Decoder dynamic_decode",
        ".seq2seq.helpers": "CustomHelper GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper "
        "ScheduledEmbeddingTrainingHelper TrainingHelper",
        ".seq2seq.losses": "hardmax sequence_loss",
    },
    {
        "BahdanauMonotonicAttention": "use BahdanauAttention with a probability_fn",
        "LuongMonotonicAttention": "use LuongAttention with a probability_fn",
    },
)
