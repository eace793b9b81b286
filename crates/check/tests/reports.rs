//! How findings are printed.

use kubewright_check::{Checker, Report, Role, report};

use crate::source;

async fn of(text: &str) -> Report {
    let checker = Checker::new().source(Ok(source("dir/a b.yaml", text)), Role::Manifests);
    checker.run().await.expect("the check runs")
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n    targetPort: 99999 # é\n";

#[tokio::test]
async fn a_terminal_shows_the_line_with_the_value_underlined() {
    let report = of(SERVICE).await;
    assert_eq!(
        report::text(&report, false),
        "error[FieldValueInvalid]: Invalid value: 99999: must be between 1 and 65535, inclusive
 --> dir/a b.yaml:8:17
  |
8 |     targetPort: 99999 # é
  |                 ^^^^^ spec.ports[0].targetPort of Service default/web

"
    );
    assert_eq!(
        report::summary(&report),
        "1 object checked: 1 error, 0 warnings"
    );
}

#[tokio::test]
async fn github_annotates_the_value() {
    let report = of(SERVICE).await;
    assert_eq!(
        report::github(&report),
        "::error title=FieldValueInvalid,file=dir/a b.yaml,line=8,endLine=8,col=17,endColumn=22::spec.ports[0].targetPort of Service default/web: Invalid value: 99999: must be between 1 and 65535, inclusive\n"
    );
}

#[tokio::test]
async fn programs_read_positions_in_lines_and_columns() {
    let report = of(SERVICE).await;
    let json = report::json(&report);
    assert_eq!(json["errors"], 1);
    assert_eq!(
        json["findings"][0]["location"]["start"],
        serde_json::json!({"line": 8, "column": 17})
    );
    let sarif = report::sarif(&report);
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "FieldValueInvalid");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "dir/a%20b.yaml");
    assert_eq!(place["region"]["startColumn"], 17);
}

#[tokio::test]
async fn junit_has_a_case_for_each_object() {
    let report = of(&format!(
        "{SERVICE}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: fine}}\n"
    ))
    .await;
    let xml = report::junit(&report);
    assert!(
        xml.contains("<testsuite name=\"dir/a b.yaml\" tests=\"2\" failures=\"1\">"),
        "{xml}"
    );
    assert!(xml.contains("<failure type=\"FieldValueInvalid\">dir/a b.yaml:8:17: spec.ports[0].targetPort: Invalid value: 99999"), "{xml}");
    assert!(xml.contains("name=\"ConfigMap default/fine\""), "{xml}");
}
