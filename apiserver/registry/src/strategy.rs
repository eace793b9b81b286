//! What the API server does with the objects of one kind: one trait for built-in kinds and custom resources.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use kubewright_apimachinery::field::FieldError;
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::view::View;
use kubewright_storage::ReadBack;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::column::Column;
use crate::columns;

/// Rules of one kind in one version: what the API server does with its objects.
///
/// The methods are those of the strategies in `k8s.io/apiserver/pkg/registry/rest`, in the order in which a request meets
/// them. Each has a default for a kind without rules of its own.
pub trait Strategy: Any + fmt::Debug + Send + Sync {
    /// Returns why the server's own type cannot hold an object that was decoded without a fault.
    fn conversion_fault(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Gives the object of a request what it has in the audit log: admission does not see it.
    fn complete_for_audit(&self, _object: &mut Value) {}

    /// Fills in the versioned defaults. A second call changes nothing more.
    fn default(&self, _object: &mut Value) {}

    /// Prepares a new object for its first write: resets what clients may not set, and fills in what the server owns. The
    /// name (also a generated one) and the uid must be set before.
    fn prepare_for_create(&self, _object: &mut Value, _creation: &mut Creation<'_>) {}

    /// Prepares a changed object: takes from the stored one what this path may not change. `subresource` is empty for the
    /// object itself. Metadata that no path may change are the stored ones already.
    fn prepare_for_update(&self, _subresource: &str, _new: &mut Value, _old: &Value) {}

    /// Checks a new object after defaults, admission and [`prepare_for_create`](Self::prepare_for_create).
    fn validate(&self, _object: &Value, _found: &mut Findings) {}

    /// Checks a changed object after [`prepare_for_update`](Self::prepare_for_update). Its metadata were compared with the
    /// stored ones before, as those of any kind.
    fn validate_update(
        &self,
        _subresource: &str,
        _new: &Value,
        _old: &Value,
        _found: &mut Findings,
    ) {
    }

    /// Returns the warnings of a valid object whose status was changed through its subresource.
    fn status_warnings(&self, _new: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns the warnings of a valid object; `old` is null for a new one.
    fn warnings(&self, _new: &Value, _old: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns the fields that a write to the object (or to a sub-resource) cannot set: no field manager owns them through
    /// it.
    fn reset_fields(&self, _subresource: &str) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Returns whether managed fields of an object may not fit the type of its kind.
    fn may_not_fit(&self) -> bool {
        false
    }

    /// Returns a stored object with the empty bytes that readers do not see in it, if an update would count them: `new` is what is
    /// to become of it.
    fn with_unseen_bytes(&self, _old: &Value, _new: &Value) -> Option<Value> {
        None
    }

    /// Returns a stored object in this version with what it has in memory, if that is not what clients see of it: `stored` reads it
    /// in the version of the storage.
    fn held(&self, _stored: &dyn Fn() -> Value) -> Option<Value> {
        None
    }

    /// Returns whether an object may be read back as another one than is stored.
    fn is_read_back(&self, _object: &Value) -> bool {
        false
    }

    /// Makes an object what clients see of it and validating admission does not. Returns how that differs from what is stored.
    fn read_back(&self, _object: &mut Value) -> ReadBack {
        ReadBack::AsStored
    }

    /// Makes a stored object what readers see of it. Who writes it or reads its status sees it as it is stored.
    fn decorate(&self, _object: &mut Value) {}

    /// Turns an object into one of another version (and group: `events`) of the same objects, but for its `apiVersion`.
    /// Each side is a group and a version. Returns whether there is a conversion between the two.
    fn convert(&self, _object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        from.0 == to.0
    }

    /// Returns the columns of a table, the name's first, of a kind by its group and its name.
    fn columns(&self, kind: (&str, &str)) -> Vec<Column<'_>> {
        columns::of(kind)
    }

    /// Returns the cells of an object, one for each column.
    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        let metadata = object.at("metadata");
        let created = metadata.at("creationTimestamp").clone();
        vec![metadata.text("name").into(), created]
    }

    /// Checks whether objects can be selected by a field.
    ///
    /// # Errors
    ///
    /// Returns the message of the API server's 400.
    fn check_field(&self, field: &str) -> Result<(), String> {
        if matches!(field, "metadata.name" | "metadata.namespace") {
            return Ok(());
        }
        Err(format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ))
    }

    /// Returns the field that the API server has an index of.
    fn indexed_field(&self) -> Option<&'static str> {
        None
    }

    /// Returns the value of a selectable field: `None` for another field, an empty string where the object does not set it.
    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        let metadata = object.at("metadata");
        match field {
            "metadata.name" => Some(metadata.text("name").into()),
            "metadata.namespace" => Some(metadata.text("namespace").into()),
            _ => None,
        }
    }

    /// Returns how the API server treats the kind as a whole.
    fn behavior(&self) -> Behavior {
        Behavior::default()
    }

    /// Returns how many seconds a deletion waits: `None` for kinds that do not wait, 0 for at once. `requested` is the
    /// `gracePeriodSeconds` of the client.
    fn grace_period(&self, _object: &Value, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// Returns why the server creates no object at present.
    fn refuses_new(&self) -> Option<&str> {
        None
    }

    /// Returns the warning for each request to a deprecated version.
    fn deprecation(&self) -> Option<&str> {
        None
    }

    /// Returns whether objects have no type in the server, but a schema at most: they are read, kept and written as JSON
    /// alone. Lists of them are written as any other map, and errors name the kind that the object says.
    fn is_unstructured(&self) -> bool {
        false
    }

    /// Returns whether the server installs routes for the resource when it starts: the verbs and paths of discovery, and no
    /// others. The handler of custom resources looks at each request.
    fn installs_routes(&self) -> bool {
        true
    }

    /// Returns whether a webhook converts between the versions.
    fn converts_by_webhook(&self) -> bool {
        false
    }

    /// Returns whether the version in which objects are stored is served.
    fn serves_storage_version(&self) -> bool {
        true
    }

    /// Returns whether clients see an object as it was stored, as this text and at a revision (`None`: not stored yet), if it is
    /// stored in this version.
    fn shows_as_stored(&self, _text: &[u8], _revision: Option<u64>) -> bool {
        true
    }

    /// Returns whether field managers may have written objects in a version, such as `apps/v1`.
    fn has_version(&self, _api_version: &str) -> bool {
        true
    }
}

/// A creation on its way: the user who asks for it, and the warnings for that user.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the REST layer makes it for each request"
)]
pub struct Creation<'a> {
    /// The user who sent the request.
    pub user: &'a User,
    /// The warnings of the preparation.
    pub warnings: Vec<String>,
}

/// What a validation found.
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "errors and warnings")]
pub struct Findings {
    /// Why the object is rejected, in the order in which it was found.
    pub errors: Vec<FieldError>,
    /// What the client is warned of, whether the object is rejected or not.
    pub warnings: Vec<String>,
}
