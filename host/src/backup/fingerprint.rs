//! The hashes of a snapshot while it passes: of all bytes, and of all but the last 32, which etcd appends as the hash of
//! the others (<https://github.com/etcd-io/etcd/blob/v3.6.0/server/etcdserver/api/v3rpc/maintenance.go>).
//!
//! Holds 32 bytes, whatever passes.

use sha2::{Digest, Sha256};

/// Bytes of the hash that etcd appends.
const APPENDED: usize = 32;
/// A data file is made of pages; nothing smaller than one is one.
const SMALLEST: u64 = 512;

/// What has passed so far.
#[derive(Clone, Default)]
pub(super) struct Fingerprint {
    /// Of all but the last bytes; with them it is that of the whole.
    data: Sha256,
    last: Vec<u8>,
    bytes: u64,
}

/// What passed, all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) bytes: u64,
    /// Of all bytes, as hex.
    pub(super) sha256: String,
}

impl Fingerprint {
    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let surplus = (self.last.len() + bytes.len()).saturating_sub(APPENDED);
        let overtaken = surplus.min(self.last.len());
        self.data.update(&self.last[..overtaken]);
        self.last.drain(..overtaken);
        let (data, last) = bytes.split_at(surplus - overtaken);
        self.data.update(data);
        self.last.extend_from_slice(last);
    }

    /// Ends.
    ///
    /// # Errors
    /// What passed is no whole snapshot, in words.
    pub(super) fn end(self) -> Result<Passed, String> {
        let Self { data, last, bytes } = self;
        if bytes < SMALLEST + APPENDED as u64 {
            return Err(format!("{bytes} bytes are no snapshot of etcd"));
        }
        let whole = data.clone().chain_update(&last);
        if data.finalize().as_slice() != last {
            return Err(format!(
                "the hash that etcd appends does not fit the {bytes} bytes: they are cut short or damaged"
            ));
        }
        Ok(Passed {
            bytes,
            sha256: format!("{:x}", whole.finalize()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Vec<u8> {
        let mut bytes = vec![7; 4096];
        let hash = Sha256::digest(&bytes);
        bytes.extend_from_slice(&hash);
        bytes
    }

    fn of(bytes: &[u8], piece: usize) -> Result<Passed, String> {
        let mut fingerprint = Fingerprint::default();
        bytes
            .chunks(piece)
            .for_each(|piece| fingerprint.take(piece));
        fingerprint.end()
    }

    #[test]
    fn a_whole_snapshot_is_one_in_pieces_of_any_size() {
        let whole = of(&snapshot(), 4128).expect("it is whole");
        for piece in [1, 31, 32, 33, 4096] {
            assert_eq!(of(&snapshot(), piece).as_ref(), Ok(&whole), "{piece}");
        }
        assert_eq!(whole.bytes, 4128);
    }

    #[test]
    fn one_that_is_cut_short_or_has_one_other_bit_or_is_empty_is_none() {
        let bytes = snapshot();
        assert!(of(&bytes[..4127], 1000).is_err());
        assert!(of(&bytes[..4096], 1000).is_err());
        assert!(of(&bytes[..100], 1000).is_err());
        assert!(of(&[], 1000).is_err());
        let mut flipped = bytes;
        flipped[2000] ^= 1;
        assert!(of(&flipped, 1000).is_err());
    }
}
