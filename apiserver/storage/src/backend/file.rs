//! A backend in one file: each commit is a transaction of an embedded database.

use std::error::Error;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::{Backend, BackendError, Contents, Write};

const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
const REVISION: TableDefinition<'_, (), u64> = TableDefinition::new("revision");

/// Keeps the objects of a store in one file.
///
/// A commit returns when its transaction is on disk; a process that is killed loses none that has returned.
///
/// ```
/// use kubewright_storage::{Draft, FileBackend, Store};
/// use serde_json::json;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("objects.redb");
/// let web = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}});
/// let store = Store::open(FileBackend::open(&path)?)?;
/// store.create("configmaps", "default/web", Draft::new(&web))?;
/// drop(store);
///
/// let store = Store::open(FileBackend::open(&path)?)?;
/// assert!(store.get("configmaps", "default/web").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileBackend {
    database: Database,
    path: PathBuf,
}

impl FileBackend {
    /// Opens the file at `path`; makes it if there is none.
    ///
    /// # Errors
    /// The file cannot be made or read, is not such a file, or is open in another process.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, BackendError> {
        let path = path.as_ref().to_owned();
        let opening = |cause: redb::DatabaseError| {
            let is_in_use = matches!(cause, redb::DatabaseError::DatabaseAlreadyOpen);
            let error = BackendError::new(format!("opening {}", path.display()), cause);
            if is_in_use { error.in_use() } else { error }
        };
        let database = Database::create(&path).map_err(opening)?;
        Ok(Self { database, path })
    }

    fn read(&self) -> Result<Contents, Box<dyn Error + Send + Sync>> {
        // A new file has no tables yet.
        let begin = self.database.begin_write()?;
        begin.open_table(OBJECTS)?;
        begin.open_table(REVISION)?;
        begin.commit()?;

        let read = self.database.begin_read()?;
        let revision = read.open_table(REVISION)?.get(())?;
        let mut contents = Contents {
            revision: revision
                .map(|revision| revision.value())
                .unwrap_or_default(),
            entries: Vec::new(),
        };
        for entry in read.open_table(OBJECTS)?.iter()? {
            let (key, value) = entry?;
            let entry = (key.value().to_owned(), value.value().to_owned());
            contents.entries.push(entry);
        }
        Ok(contents)
    }

    fn write(&self, writes: &[Write], revision: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
        let transaction = self.database.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            for Write { key, value } in writes {
                match value {
                    Some(value) => drop(objects.insert(key.as_str(), value.as_slice())?),
                    None => drop(objects.remove(key.as_str())?),
                }
            }
            transaction.open_table(REVISION)?.insert((), revision)?;
        }
        Ok(transaction.commit()?)
    }
}

impl Backend for FileBackend {
    fn load(&self) -> Result<Contents, BackendError> {
        self.read()
            .map_err(|cause| BackendError::new(format!("reading {}", self.path.display()), cause))
    }

    fn commit(&self, writes: &[Write], revision: u64) -> Result<(), BackendError> {
        self.write(writes, revision).map_err(|cause| {
            BackendError::new(format!("writing to {}", self.path.display()), cause)
        })
    }
}

#[cfg(test)]
mod tests;
