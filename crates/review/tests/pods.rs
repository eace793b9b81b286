//! Grafting on k8s-openapi's types, case by case.
