"""Convolution over words with a non-linearity on every column: the sentence models of Yu et al. 2014 and Severyn & Moschitti 2015."""

from qaexp.models.activation import activation_of
from qaexp.models.encoder.cnn import CNN
from qaexp.models.types import Text


class SquashedCNN(CNN):
    """c_m = f(W·z_m + b), z_m the `window` word vectors around word m; f is tanh or ReLU, as `squash` says.

    Yu et al. 2014, eq. 3: c_i = tanh(T_L·s_i + T_R·s_{i+1} + b), a window of 2, averaged over time. Severyn & Moschitti 2015, §3.1: a
    window of 5, the maximum over time, and either non-linearity (ReLU in the paper's account, tanh in their release).

    Departs: there is a column for each word, the words beyond a text's ends being zeros. Yu et al. have one less, without the last word
    beside a zero; Severyn & Moschitti's wide convolution has `window` − 1 more; Lei et al. 2016, §5, look at the words before m alone.

    Raises:
        ConfigError: another non-linearity.
    """

    def __init__(self, input_dim: int, num_filters: int, window: int, squash: str) -> None:
        super().__init__(input_dim, num_filters, window)
        self.squash = activation_of("model.encoder.squash", squash)

    def finish(self, text: Text) -> Text:
        convolved = super().finish(text)
        return {**convolved, "states": self.squash(convolved["states"])}
