//! What etcd would find in a snapshot: the revision of its newest key and the version it was taken from.
//!
//! A snapshot is a data file of bbolt (<https://github.com/etcd-io/bbolt/blob/main/internal/common/page.go>): pages of one
//! size, a tree of buckets. A few pieces of it are read, whatever its size; which bytes come when is the source's business.
//! Whether the whole is undamaged is [`super::fingerprint`]'s question.

use contract::SnapshotContent;

/// Where the bytes of a snapshot come from.
pub(super) trait Bytes: Sync {
    /// Exactly these bytes.
    fn at(&self, from: u64, count: u64) -> impl Future<Output = Result<Vec<u8>, Missing>> + Send;
}

/// Why there are no such bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// They could not be read; another attempt may.
    Unread {
        /// Why, in words.
        why: String,
        /// Another attempt would end the same way.
        permanent: bool,
    },
    /// It is no data file of etcd.
    Foreign(&'static str),
}

const MAGIC: u32 = 0xED0C_DAED;
const VERSION: u32 = 2;
/// Bytes of a page's own header.
const HEADER: u64 = 16;
/// Bytes of one entry of a page's table.
const ENTRY: u64 = 16;
/// Bytes of a bucket's header; a small bucket's only page follows.
const BUCKET: usize = 16;
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
const META: u16 = 4;
/// A table of contents is small; what is larger is none.
const LARGEST_PAGE: u64 = 4 << 20;
/// A tree is flat; what is deeper is a loop.
const DEEPEST: u32 = 32;

/// Looks into a snapshot.
///
/// # Errors
/// It holds no data of etcd, or could not be read.
pub(super) async fn look(bytes: &impl Bytes) -> Result<SnapshotContent, Missing> {
    let file = File::open(bytes).await?;
    let keys = file.bucket(file.root, b"key").await?;
    let keys = keys.ok_or(Missing::Foreign("it has no bucket of keys"))?;
    // An etcd that was never written to is at revision 1.
    let revision = file.newest(&keys).await?.unwrap_or(1);
    let mut version = file.value(b"cluster", b"clusterVersion").await?;
    if version.is_none() {
        version = file.value(b"meta", b"storageVersion").await?;
    }
    let version = version.map_or(Ok(String::new()), String::from_utf8);
    Ok(SnapshotContent {
        revision,
        version: version.map_err(|_| Missing::Foreign("its version is no text"))?,
    })
}

/// A data file and where its tree begins.
struct File<'a, Source> {
    bytes: &'a Source,
    page_size: u64,
    root: u64,
}

/// A bucket: a tree of pages, or one small page that is kept in its parent.
enum Bucket {
    Tree(u64),
    Inline(Vec<u8>),
}

/// A page in memory.
struct Page {
    bytes: Vec<u8>,
    flags: u16,
    count: u64,
}

impl Page {
    fn new(bytes: Vec<u8>) -> Result<Self, Missing> {
        let head = Head::of(&bytes)?;
        let (flags, count) = (head.flags, head.count);
        Ok(Self {
            bytes,
            flags,
            count,
        })
    }

    /// Key and value of an entry of a leaf, and whether it is a bucket.
    fn leaf(&self, index: u64) -> Result<(&[u8], &[u8], bool), Missing> {
        let entry = HEADER + ENTRY * index;
        let [flags, position, key, value] = numbers(&self.bytes, entry)?;
        let begin = entry + u64::from(position);
        let middle = begin + u64::from(key);
        let key = slice(&self.bytes, begin, middle)?;
        let value = slice(&self.bytes, middle, middle + u64::from(value))?;
        Ok((key, value, flags & 1 == 1))
    }

    /// Smallest key and page of an entry of a branch.
    fn branch(&self, index: u64) -> Result<(&[u8], u64), Missing> {
        let entry = HEADER + ENTRY * index;
        let [position, key, low, high] = numbers(&self.bytes, entry)?;
        let begin = entry + u64::from(position);
        let key = slice(&self.bytes, begin, begin + u64::from(key))?;
        Ok((key, u64::from(low) | u64::from(high) << 32))
    }
}

/// The head of a page.
struct Head {
    flags: u16,
    count: u64,
    overflow: u64,
}

impl Head {
    fn of(bytes: &[u8]) -> Result<Self, Missing> {
        let head = slice(bytes, 0, HEADER)?;
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let overflow = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
        Ok(Self {
            flags: short(8),
            count: u64::from(short(10)),
            overflow: u64::from(overflow),
        })
    }
}

impl<'a, Source: Bytes> File<'a, Source> {
    async fn open(bytes: &'a Source) -> Result<Self, Missing> {
        let first = bytes.at(0, HEADER + 64).await?;
        let (page_size, root, id) =
            meta(&first).ok_or(Missing::Foreign("it does not begin as one"))?;
        let second = bytes.at(page_size, HEADER + 64).await?;
        let newer = meta(&second).filter(|(_, _, other)| *other > id);
        let root = newer.map_or(root, |(_, root, _)| root);
        Ok(Self {
            bytes,
            page_size,
            root,
        })
    }

    async fn head(&self, page: u64) -> Result<Head, Missing> {
        let begin = self.begin(page)?;
        Head::of(&self.bytes.at(begin, HEADER).await?)
    }

    /// A page, whole.
    async fn page(&self, page: u64) -> Result<Page, Missing> {
        let head = self.head(page).await?;
        let size = self.page_size.saturating_mul(head.overflow + 1);
        if size > LARGEST_PAGE {
            return Err(Missing::Foreign("a table of it is too large"));
        }
        Page::new(self.bytes.at(self.begin(page)?, size).await?)
    }

    fn begin(&self, page: u64) -> Result<u64, Missing> {
        page.checked_mul(self.page_size)
            .ok_or(Missing::Foreign("a page lies beyond all files"))
    }

    /// The bucket of a name in the tree that begins at a page.
    async fn bucket(&self, root: u64, name: &[u8]) -> Result<Option<Bucket>, Missing> {
        let Some((value, true)) = self.find(root, name).await? else {
            return Ok(None);
        };
        let root = slice(&value, 0, 8)?;
        let root = u64::from_le_bytes(root.try_into().unwrap_or_default());
        Ok(Some(if root == 0 {
            Bucket::Inline(value.get(BUCKET..).unwrap_or_default().to_vec())
        } else {
            Bucket::Tree(root)
        }))
    }

    /// What a bucket holds under a key.
    async fn value(&self, bucket: &[u8], key: &[u8]) -> Result<Option<Vec<u8>>, Missing> {
        let found = match self.bucket(self.root, bucket).await? {
            None => None,
            Some(Bucket::Tree(root)) => self.find(root, key).await?,
            Some(Bucket::Inline(bytes)) => in_leaf(&Page::new(bytes)?, key)?,
        };
        Ok(found.map(|(value, _)| value))
    }

    async fn find(&self, root: u64, key: &[u8]) -> Result<Option<(Vec<u8>, bool)>, Missing> {
        let mut at = root;
        for _ in 0..DEEPEST {
            let page = self.page(at).await?;
            if page.flags & LEAF != 0 {
                return in_leaf(&page, key);
            }
            if page.flags & BRANCH == 0 {
                return Err(Missing::Foreign("a page of it is none of a tree"));
            }
            let mut next = None;
            for index in 0..page.count {
                let (smallest, child) = page.branch(index)?;
                if next.is_some() && smallest > key {
                    break;
                }
                next = Some(child);
            }
            at = next.ok_or(Missing::Foreign("a branch of it is empty"))?;
        }
        Err(Missing::Foreign("its tree has no end"))
    }

    /// The revision of the newest key: they are sorted by it. Of the pages on the way only the ends are read, because
    /// those of keys can be large.
    async fn newest(&self, keys: &Bucket) -> Result<Option<i64>, Missing> {
        let key = match keys {
            Bucket::Inline(bytes) => {
                let page = Page::new(bytes.clone())?;
                match page.count.checked_sub(1) {
                    Some(last) => page.leaf(last)?.0.to_vec(),
                    None => return Ok(None),
                }
            }
            Bucket::Tree(root) => match self.last_key(*root).await? {
                Some(key) => key,
                None => return Ok(None),
            },
        };
        let revision = key
            .first_chunk::<8>()
            .map(|first| i64::from_be_bytes(*first));
        revision
            .map(Some)
            .ok_or(Missing::Foreign("its newest key has no revision"))
    }

    async fn last_key(&self, root: u64) -> Result<Option<Vec<u8>>, Missing> {
        let mut at = root;
        for _ in 0..DEEPEST {
            let head = self.head(at).await?;
            let Some(last) = head.count.checked_sub(1) else {
                return Ok(None);
            };
            let entry = self.begin(at)? + HEADER + ENTRY * last;
            let [_, second, third, fourth] = numbers(&self.bytes.at(entry, ENTRY).await?, 0)?;
            if head.flags & LEAF != 0 {
                let (position, length) = (u64::from(second), u64::from(third));
                let key = self.bytes.at(entry + position, length.min(64)).await?;
                return Ok(Some(key));
            }
            if head.flags & BRANCH == 0 {
                return Err(Missing::Foreign("a page of it is none of a tree"));
            }
            at = u64::from(third) | u64::from(fourth) << 32;
        }
        Err(Missing::Foreign("its tree has no end"))
    }
}

/// Page size, root and transaction of one of the two first pages; none when it is not sound.
fn meta(page: &[u8]) -> Option<(u64, u64, u64)> {
    let flags = u16::from_le_bytes(*page.get(8..)?.first_chunk()?);
    let body = page.get(HEADER as usize..)?;
    let short = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*body.get(at..)?.first_chunk()?));
    // FNV-1a, as bbolt sums it up.
    let sum = body
        .get(..56)?
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    let is_sound =
        flags & META != 0 && short(0)? == MAGIC && short(4)? == VERSION && long(56)? == sum;
    let page_size = u64::from(short(8)?);
    let is_size = page_size.is_power_of_two() && (512..=1 << 20).contains(&page_size);
    (is_sound && is_size).then_some((page_size, long(16)?, long(48)?))
}

fn in_leaf(page: &Page, key: &[u8]) -> Result<Option<(Vec<u8>, bool)>, Missing> {
    for index in 0..page.count {
        let (found, value, is_bucket) = page.leaf(index)?;
        if found == key {
            return Ok(Some((value.to_vec(), is_bucket)));
        }
    }
    Ok(None)
}

fn numbers(bytes: &[u8], at: u64) -> Result<[u32; 4], Missing> {
    let entry = slice(bytes, at, at + ENTRY)?;
    let mut numbers = [0; 4];
    for (number, four) in numbers.iter_mut().zip(entry.as_chunks::<4>().0) {
        *number = u32::from_le_bytes(*four);
    }
    Ok(numbers)
}

fn slice(bytes: &[u8], from: u64, to: u64) -> Result<&[u8], Missing> {
    let short = Missing::Foreign("a page of it ends too early");
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    let (from, to) = range.ok_or_else(|| short.clone())?;
    bytes.get(from..to).ok_or(short)
}

#[cfg(test)]
mod tests;
