//! Tests that conversions of WhiteList lose no field.

use guard::api::police::{v1, v2};
use guard::webhooks::white_list_conversion::conversion;
use kubewright::prelude::*;
use kubewright::testing::{round_trips, unique, yaml};

use super::cluster;

#[test]
fn every_version_survives_a_round_trip() {
    round_trips(conversion());
}

#[tokio::test]
async fn an_object_of_one_version_can_be_read_in_another() {
    let cluster = cluster().await;
    let mut object: v1::WhiteList = yaml(include_str!("../../demo/white-list.yaml"));
    object.metadata.name = Some(unique("sample"));
    let created = cluster.create(&object).await.expect_allowed();
    let read: v2::WhiteList = cluster.get(&created.name_any()).await.unwrap();
    assert_eq!(read.uid(), created.uid());
}
