//! The most addresses that Endpoints hold: 1000, the ready ones first.

use serde_json::Value;

use super::super::object::list;

/// The annotation of Endpoints that have left addresses out.
pub(super) const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

const MOST: usize = 1000;

/// How many addresses there are, ready or not.
pub(super) fn is_over(subsets: &[Value]) -> bool {
    count(subsets, "/addresses") + count(subsets, "/notReadyAddresses") > MOST
}

/// Cuts the subsets to the capacity, each in proportion to its addresses, and says whether it had to.
pub(super) fn truncate(subsets: &mut [Value]) -> bool {
    if !is_over(subsets) {
        return false;
    }
    let ready = count(subsets, "/addresses");
    let too_many_ready = ready > MOST;
    let (field, room) = if too_many_ready {
        ("addresses", MOST)
    } else {
        ("notReadyAddresses", MOST - ready)
    };
    let all = count(subsets, &format!("/{field}"));
    let mut left = room;
    for subset in subsets {
        let Some(subset) = subset.as_object_mut() else {
            continue;
        };
        if too_many_ready {
            subset.remove("notReadyAddresses");
        }
        let Some(Value::Array(addresses)) = subset.get_mut(field) else {
            continue;
        };
        let share = (addresses.len() * room).div_ceil(all);
        addresses.truncate(share.min(left));
        left -= addresses.len();
        if addresses.is_empty() {
            subset.remove(field);
        }
    }
    true
}

fn count(subsets: &[Value], field: &str) -> usize {
    subsets.iter().map(|subset| list(subset, field).len()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn addresses(count: usize) -> Value {
        let all = (0..count).map(|at| json!({"ip": format!("10.0.{}.{}", at / 256, at % 256)}));
        all.collect()
    }

    #[test]
    fn ready_addresses_go_before_others_and_subsets_keep_their_proportion() {
        let mut subsets = [
            json!({"addresses": addresses(900), "notReadyAddresses": addresses(300)}),
            json!({"notReadyAddresses": addresses(100)}),
        ];
        assert!(truncate(&mut subsets));
        assert_eq!(list(&subsets[0], "/addresses").len(), 900);
        assert_eq!(list(&subsets[0], "/notReadyAddresses").len(), 75);
        assert_eq!(list(&subsets[1], "/notReadyAddresses").len(), 25);

        let mut subsets = [
            json!({"addresses": addresses(1500), "notReadyAddresses": addresses(1)}),
            json!({"addresses": addresses(500)}),
        ];
        assert!(truncate(&mut subsets));
        assert_eq!(list(&subsets[0], "/addresses").len(), 750);
        assert!(subsets[0].get("notReadyAddresses").is_none());
        assert_eq!(list(&subsets[1], "/addresses").len(), 250);
    }

    #[test]
    fn up_to_a_thousand_addresses_stay() {
        let mut subsets = [json!({"addresses": addresses(1000)})];
        assert!(!truncate(&mut subsets));
        assert_eq!(list(&subsets[0], "/addresses").len(), 1000);
    }
}
