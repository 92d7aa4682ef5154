//! One zstd frame: a block of JSON lines that is whole or not there at all.

use std::io::{self, BufRead, Read as _};

use zstd::zstd_safe;

/// The first bytes of a zstd frame.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Most bytes a frame may unpack to; a larger one is not of a recorder.
pub(super) const LARGEST: u64 = 64 << 20;
/// Beyond it, zstd takes more time than it saves bytes.
const LEVEL: i32 = 3;

/// Packs lines into one frame with a checksum.
pub(super) fn pack(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = zstd::bulk::Compressor::new(LEVEL)?;
    packer.include_checksum(true)?;
    packer.compress(lines)
}

/// Unpacks the frame that `input` stands at and leaves `input` behind it.
///
/// Errors of the kind `UnexpectedEof` mean that the frame is not all there.
pub(super) fn unpack(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    let decoder = zstd::Decoder::with_buffer(input)?.single_frame();
    decoder.take(LARGEST + 1).read_to_end(&mut lines)?;
    if lines.len() as u64 > LARGEST {
        return Err(io::Error::other(
            "a frame unpacks to more than any recorder writes",
        ));
    }
    Ok(lines)
}

/// The whole frames of a file's content in their order, still packed.
pub(super) fn whole(content: &[u8]) -> Vec<&[u8]> {
    let mut rest = content;
    let mut frames = Vec::new();
    while let Ok(size) = zstd_safe::find_frame_compressed_size(rest)
        && let Some((frame, after)) = rest.split_at_checked(size)
        && !frame.is_empty()
    {
        frames.push(frame);
        rest = after;
    }
    frames
}
