"""The parts of Keras that are known to hold no code and to read no file; `keras_safety` lets nothing else pass."""

from __future__ import annotations


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


ACTIVATIONS = _names(
    "celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu linear",
    "log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus",
    "sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink threshold",
)

_MODELS = _names("Model Sequential")

LAYERS = _names(
    "Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D",
    "AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention",
    "AugMix AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D",
    "BatchNormalization Bidirectional CenterCrop Concatenate ContrastLimitedAdaptiveHistogramEqualization Conv1D",
    "Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D",
    "Convolution1DTranspose Convolution2D Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D",
    "Cropping2D Cropping3D CutMix Dense DepthwiseConv1D DepthwiseConv2D Dot Dropout ELU EinsumDense Embedding",
    "Equalization Flatten GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D",
    "GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D",
    "GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention",
    "Identity InputLayer LSTM LSTMCell LayerNormalization LeakyReLU Masking MaxPool1D MaxPool2D MaxPool3D",
    "MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum MixUp MultiHeadAttention Multiply Normalization PReLU",
    "Permute Pipeline RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter",
    "RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale",
    "RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness",
    "RandomShear RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape Resizing SeparableConv1D",
    "SeparableConv2D SeparableConvolution1D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization",
    "SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells Subtract",
    "TimeDistributed UnitNormalization UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D",
    "ZeroPadding3D",
)

_INITIALIZERS = _names(
    "Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer LecunNormal LecunUniform",
    "Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform TruncatedNormal VarianceScaling Zeros",
)
_REGULARIZERS = _names("L1 L1L2 L2 OrthogonalRegularizer")
_CONSTRAINTS = _names("MaxNorm MinMaxNorm NonNeg UnitNorm")
_POLICIES = _names(
    "DTypePolicy DTypePolicyMap FloatDTypePolicy Int4DTypePolicy QuantizedDTypePolicy QuantizedFloat8DTypePolicy"
)
_QUANTIZERS = _names("AbsMaxQuantizer Float8QuantizationConfig Int4QuantizationConfig Int8QuantizationConfig")
_GRAPH_OPERATIONS = _names(
    "Cast ConvertToTensor SaturateCast Scatter ScatterUpdate Slice SliceUpdate StopGradient Unstack"
)

BY_MODULE: dict[str, frozenset[str]] = {
    "keras": _MODELS | _POLICIES,
    "keras.models": _MODELS,
    "keras.src.models.functional": _names("Functional"),
    "keras.layers": LAYERS,
    "keras.initializers": _INITIALIZERS,
    "keras.regularizers": _REGULARIZERS,
    "keras.constraints": _CONSTRAINTS,
    "keras.dtype_policies": _POLICIES,
    "keras.mixed_precision": _POLICIES,
    "keras.quantizers": _QUANTIZERS,
    "keras.random": _names("SeedGenerator"),
    "keras.src.random.seed_generator": _names("SeedGenerator"),
    "keras.src.applications.convnext": _names("LayerScale"),
    "keras.src.ops.core": _GRAPH_OPERATIONS,
    "keras.src.ops.einops": _names("Rearrange"),
}

#: Modules of which any class passes: Keras itself takes only operations from them, and these only compute.
OPERATION_MODULES = frozenset(f"keras.src.ops.{part}" for part in ("image", "linalg", "math", "nn", "numpy"))

FUNCTION_MODULES = {"builtins", "keras.activations", "keras.ops"}

#: What older files write without a module.
WITHOUT_MODULE = frozenset().union(
    _MODELS, LAYERS, _INITIALIZERS, _REGULARIZERS, _CONSTRAINTS, _POLICIES, _names("Functional")
)

#: How values that JSON does not have are written.
VALUES = _names("__keras_tensor__ __tensor__ __numpy__ __bytes__ __ellipsis__ __slice__ __tuple__ TensorShape")

REASONS = {
    "Lambda": "carries Python code, which would run",
    "__lambda__": "is compiled Python code, which would run",
    "TorchModuleWrapper": "carries a pickled torch module, and opening a pickle can run any code",
    "JaxLayer": "calls a function that the file names",
    "FlaxLayer": "calls a module that the file names",
    "TFSMLayer": "loads a SavedModel, which can hold any operation",
    "__typespec__": "calls a class that the file names",
    "TypeSpec": "calls a class that the file names",
    "CompositeTensor": "calls a class that the file names",
    "StringLookup": "can read other files (a vocabulary)",
    "IntegerLookup": "can read other files (a vocabulary)",
    "TextVectorization": "can read other files (a vocabulary)",
}
