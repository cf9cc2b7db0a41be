"""Images to choose a model for: of data by name, of an .npz, or picture files; labels are not needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets import load_dataset
from diffgan.datasets.loading import is_dataset_name
from diffgan.datasets.pictures import SUFFIXES, read_picture
from diffgan.errors import DataError
from diffgan.images import ByteImages, ImageSpec, check_bytes
from diffgan.selection.examples import check_spec


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images with what they are called.

    Attributes:
        names: the files', below the folder that was named, or numbers from 0.
        images: uint8, N x H x W x C.
    """

    names: tuple[str, ...]
    images: ByteImages


def read_pictures(source: str, spec: ImageSpec) -> Pictures:
    """The images that a user names.

    Args:
        source: the name of data, an .npz with `images`, a picture's file, or a folder with pictures anywhere below.
        spec: the size that they have to have.

    Raises:
        DataError: there are none, one cannot be read, or they have another size.
    """
    path = Path(source)
    if path.is_dir():
        return _of_files(source, sorted(_pictures_below(path)), path, spec)
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        return _of_files(source, [path], path.parent, spec)
    if path.is_file() and path.suffix.lower() == ".npz":
        images = check_bytes(_array(path), source)
    elif is_dataset_name(source):
        images = load_dataset(source).images
    else:
        raise DataError(
            f"There are no images {source}: give the name of data, an .npz, a folder, or a file "
            f"({', '.join(sorted(SUFFIXES))})."
        )
    check_spec(spec, ImageSpec.of_bytes(images), source)
    return Pictures(tuple(str(number) for number in range(len(images))), images)


def _pictures_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()]


def _of_files(source: str, files: list[Path], folder: Path, spec: ImageSpec) -> Pictures:
    if not files:
        raise DataError(f"{source} holds no pictures ({', '.join(sorted(SUFFIXES))}): give a folder that does.")
    images = [_picture(file, spec) for file in files]
    return Pictures(tuple(file.relative_to(folder).as_posix() for file in files), np.stack(images))


def _picture(file: Path, spec: ImageSpec) -> NDArray[np.uint8]:
    image = read_picture(file)
    if image.ndim == 2:
        image = np.repeat(image[..., None], spec.channels, axis=2)
    check_spec(spec, ImageSpec(image.shape[2], image.shape[0], image.shape[1]), str(file))
    return image


def _array(path: Path) -> NDArray[np.generic]:
    try:
        with np.load(path, allow_pickle=False) as content:
            images: NDArray[np.generic] = content["images"]
    except KeyError:
        raise DataError(f"{path} has no images: save it with numpy.savez(path, images=...).") from None
    except Exception as error:  # a damaged zip, or an array under that name, raises nearly anything
        raise DataError(f"{path} is no complete .npz file ({error}): save or copy it again.") from error
    return images
