//! Bytes that may be packed, and are read to a limit.

use std::io::{self, Read as _};
use std::path::Path;

use crate::module::MODULE_LIMIT;

/// The first bytes of a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// One byte more than a module may have is enough to refuse it.
fn limited(input: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input
        .take(MODULE_LIMIT as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file, to the limit.
pub(super) fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    limited(std::fs::File::open(path)?)
}

/// What a zstd frame holds, to the limit; and what is none as it is.
pub(super) fn unpacked(stored: Vec<u8>) -> io::Result<Vec<u8>> {
    if stored.starts_with(&ZSTD) {
        limited(zstd::Decoder::new(&stored[..])?)
    } else {
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few hundred bytes that unpack to gigabytes must not be unpacked.
    #[test]
    fn a_packed_bomb_is_unpacked_to_the_limit_and_no_further() {
        let bomb = zstd::encode_all(io::repeat(0).take(1 << 30), 1).expect("it packs");
        assert!(bomb.len() < MODULE_LIMIT);
        let unpacked = unpacked(bomb).expect("it is zstd");
        assert_eq!(unpacked.len(), MODULE_LIMIT + 1);
    }

    /// Whoever puts one there must not fill the operator's memory with it.
    #[test]
    fn a_file_of_ten_gigabytes_is_read_to_the_limit_and_no_further() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file()
            .set_len(10 << 30)
            .expect("a hole takes no disk");
        let read = bounded(file.path()).expect("it can be read");
        assert_eq!(read.len(), MODULE_LIMIT + 1);
    }

    #[test]
    fn what_is_not_packed_is_taken_as_it_is() {
        assert_eq!(unpacked(b"\0asm".to_vec()).expect("bytes"), b"\0asm");
    }
}
