//! One report: what it says, and how it travels in a call's trailers.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::RangeInclusive;

use buffa::Message;
use peregrine_core::MetadataMap;

use crate::pb::xds::data::orca::v3::OrcaLoadReport;

/// The trailer that carries a report about the call it ends.
pub const TRAILER: &str = "endpoint-load-metrics-bin";

/// How loaded this server is, or was for one call.
///
/// A number that was not set is 0. A setter ignores what means nothing where it is put (NaN, infinity, below 0, a share
/// above 1), so that a wrong measurement never spoils a call or the rest of the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadReport {
    wire: OrcaLoadReport,
}

impl LoadReport {
    /// A report that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The report among the trailers of a call that was made, if the server sent one. One that cannot be read counts
    /// as none: it is advice, and the call has its result without it.
    pub fn from_trailers(trailers: &MetadataMap) -> Option<Self> {
        let wire = OrcaLoadReport::decode_from_slice(trailers.get_bin(TRAILER)?).ok()?;
        Some(Self { wire })
    }

    /// Puts the report among the trailers of a response, in place of one that is there.
    ///
    /// ```
    /// # use peregrine_core::Response;
    /// use peregrine_services::orca::LoadReport;
    ///
    /// let mut response = Response::new("the reply");
    /// LoadReport::new().set_request_cost("rows", 1_200.0).attach(response.trailers_mut());
    /// assert!(response.trailers().get_bin("endpoint-load-metrics-bin").is_some());
    /// ```
    pub fn attach(&self, trailers: &mut MetadataMap) {
        // Fails for names and texts that are not allowed; this name is, and a binary value may be anything.
        let _ = trailers.insert_bin(TRAILER, &self.wire.encode_to_vec());
    }

    /// CPU in use, 1 being all that the server may use; more where it borrows.
    pub fn cpu_utilization(&self) -> f64 {
        self.wire.cpu_utilization
    }

    /// Sets [`cpu_utilization`](Self::cpu_utilization).
    pub fn set_cpu_utilization(&mut self, value: f64) -> &mut Self {
        set(&mut self.wire.cpu_utilization, value, f64::MAX);
        self
    }

    /// Memory in use, 1 being all that the server may use.
    pub fn memory_utilization(&self) -> f64 {
        self.wire.mem_utilization
    }

    /// Sets [`memory_utilization`](Self::memory_utilization).
    pub fn set_memory_utilization(&mut self, value: f64) -> &mut Self {
        set(&mut self.wire.mem_utilization, value, 1.0);
        self
    }

    /// How busy the server is by the application's own measure, where CPU says too little; may be above 1.
    pub fn application_utilization(&self) -> f64 {
        self.wire.application_utilization
    }

    /// Sets [`application_utilization`](Self::application_utilization).
    pub fn set_application_utilization(&mut self, value: f64) -> &mut Self {
        set(&mut self.wire.application_utilization, value, f64::MAX);
        self
    }

    /// Requests per second.
    pub fn requests_per_second(&self) -> f64 {
        self.wire.rps_fractional
    }

    /// Sets [`requests_per_second`](Self::requests_per_second).
    pub fn set_requests_per_second(&mut self, value: f64) -> &mut Self {
        set(&mut self.wire.rps_fractional, value, f64::MAX);
        self
    }

    /// Errors per second.
    pub fn errors_per_second(&self) -> f64 {
        self.wire.eps
    }

    /// Sets [`errors_per_second`](Self::errors_per_second).
    pub fn set_errors_per_second(&mut self, value: f64) -> &mut Self {
        set(&mut self.wire.eps, value, f64::MAX);
        self
    }

    /// The share in use of another resource, by a name of the application's, if it was set.
    pub fn utilization(&self, name: &str) -> Option<f64> {
        self.wire.utilization.get(name).copied()
    }

    /// Sets [`utilization`](Self::utilization), 0 to 1.
    pub fn set_utilization(&mut self, name: &str, value: f64) -> &mut Self {
        set_named(&mut self.wire.utilization, name, value, 0.0..=1.0);
        self
    }

    /// What the call has cost, by a name of the application's, if it was set.
    pub fn request_cost(&self, name: &str) -> Option<f64> {
        self.wire.request_cost.get(name).copied()
    }

    /// Sets [`request_cost`](Self::request_cost).
    pub fn set_request_cost(&mut self, name: &str, value: f64) -> &mut Self {
        set_named(&mut self.wire.request_cost, name, value, f64::MIN..=f64::MAX);
        self
    }

    /// Anything else that the application counts, by a name of its own, if it was set.
    pub fn named_metric(&self, name: &str) -> Option<f64> {
        self.wire.named_metrics.get(name).copied()
    }

    /// Sets [`named_metric`](Self::named_metric).
    pub fn set_named_metric(&mut self, name: &str, value: f64) -> &mut Self {
        set_named(&mut self.wire.named_metrics, name, value, f64::MIN..=f64::MAX);
        self
    }

    /// What goes out beside the calls: what single calls have cost stays out of it.
    pub(super) fn out_of_band(&self) -> OrcaLoadReport {
        OrcaLoadReport { request_cost: HashMap::default(), ..self.wire.clone() }
    }
}

fn set(field: &mut f64, value: f64, most: f64) {
    if (0.0..=most).contains(&value) {
        *field = value;
    }
}

fn set_named<S: BuildHasher>(
    field: &mut HashMap<String, f64, S>,
    name: &str,
    value: f64,
    range: RangeInclusive<f64>,
) {
    if range.contains(&value) {
        field.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_back_from_the_trailers_it_was_put_into() {
        let mut report = LoadReport::new();
        report.set_cpu_utilization(1.25).set_memory_utilization(0.5).set_application_utilization(2.0);
        report.set_requests_per_second(1e4).set_errors_per_second(0.5);
        report.set_utilization("disk", 0.75).set_request_cost("rows", -3.0).set_named_metric("queue", 17.0);
        let mut trailers = MetadataMap::new();
        LoadReport::new().set_cpu_utilization(0.1).attach(&mut trailers);
        report.attach(&mut trailers);
        assert_eq!(trailers.len(), 1, "the second takes the place of the first");
        let read = LoadReport::from_trailers(&trailers).unwrap();
        assert_eq!(read, report);
        assert_eq!((read.cpu_utilization(), read.memory_utilization()), (1.25, 0.5));
        assert_eq!((read.requests_per_second(), read.errors_per_second()), (1e4, 0.5));
        assert_eq!((read.application_utilization(), read.utilization("disk")), (2.0, Some(0.75)));
        assert_eq!(read.utilization("net"), None);
        assert_eq!((read.request_cost("rows"), read.named_metric("queue")), (Some(-3.0), Some(17.0)));
    }

    #[test]
    fn numbers_that_mean_nothing_are_not_taken_over() {
        let mut report = LoadReport::new();
        report.set_cpu_utilization(0.5).set_memory_utilization(0.5).set_utilization("disk", 0.5);
        let before = report.clone();
        for wrong in [f64::NAN, f64::INFINITY, -0.1] {
            report.set_cpu_utilization(wrong).set_application_utilization(wrong);
            report.set_requests_per_second(wrong).set_errors_per_second(wrong);
            report.set_utilization("disk", wrong);
        }
        report.set_memory_utilization(1.1).set_utilization("disk", 1.1);
        report.set_request_cost("cost", f64::NAN).set_named_metric("metric", f64::NAN);
        assert_eq!(report, before);
    }

    #[test]
    fn trailers_without_a_report_or_with_a_broken_one_have_none() {
        let mut trailers = MetadataMap::new();
        assert_eq!(LoadReport::from_trailers(&trailers), None);
        trailers.insert_bin(TRAILER, &[0x09, 1, 2]).unwrap();
        assert_eq!(LoadReport::from_trailers(&trailers), None);
    }
}
