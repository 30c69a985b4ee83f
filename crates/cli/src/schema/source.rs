//! The schema a command works with, wherever it comes from.
//!
//! From files it is there at once; from a server it grows with what is asked for.

use std::collections::HashSet;

use prost_reflect::{DescriptorPool, MethodDescriptor};

use super::{
    Schema,
    assemble::Files,
    files, find,
    reflection::{Reflection, ReflectionError},
};
use crate::{
    args::SchemaArgs,
    connect::Connection,
    report::{self, Report},
    suggest,
};

/// Definitions, and where more of them can be had.
pub(crate) struct Source {
    schema: Schema,
    server: Option<Server>,
}

/// What only a server's reflection has.
struct Server {
    reflection: Reflection,
    /// Who is asked, for the errors.
    address: String,
    services: Option<Vec<String>>,
    /// Symbols asked for without success.
    absent: HashSet<String>,
}

impl Source {
    /// The schema of the files that the command line names.
    pub(crate) fn from_files(args: &SchemaArgs) -> Result<Self, Report> {
        Ok(Self { schema: files::load(args)?, server: None })
    }

    /// The schema that the connected server tells.
    pub(crate) fn from_server(connection: &Connection) -> Self {
        let server = Server {
            reflection: Reflection::new(connection.clone()),
            address: connection.address(),
            services: None,
            absent: HashSet::new(),
        };
        Self { schema: Schema::default(), server: Some(server) }
    }

    /// What is known by now.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Full names of the services, sorted.
    pub(crate) async fn service_names(&mut self) -> Result<Vec<String>, Report> {
        let Some(server) = &mut self.server else { return Ok(self.schema.service_names()) };
        if server.services.is_none() {
            let mut names = server.reflection.services().await.map_err(|error| server.report(error))?;
            names.sort();
            names.dedup();
            server.services = Some(names);
        }
        Ok(server.services.clone().unwrap_or_default())
    }

    /// Makes sure that the file which defines `symbol` is there. False if there is no such symbol.
    pub(crate) async fn load(&mut self, symbol: &str) -> Result<bool, Report> {
        let symbol = symbol.trim_start_matches(['.', '/']).replacen('/', ".", 1);
        if find::symbol(&self.schema, &symbol).is_some() {
            return Ok(true);
        }
        let Some(server) = &mut self.server else { return Ok(false) };
        // Not every server knows members by name, but each knows what they are members of.
        let mut name = symbol.as_str();
        for _ in 0..2 {
            if server.absent.insert(name.to_owned())
                && let Some(files) = server.files(name).await?
            {
                server.add(files, &mut self.schema.pool).await?;
                return Ok(find::symbol(&self.schema, &symbol).is_some());
            }
            let Some((parent, _)) = name.rsplit_once('.') else { break };
            name = parent;
        }
        Ok(false)
    }

    /// The method that a user typed, or what it could have been.
    pub(crate) async fn method(&mut self, text: &str) -> Result<MethodDescriptor, Report> {
        let Some((service_name, method_name)) = find::split_method(text) else {
            return Err(Report::usage(format!("`{text}` is no method name"))
                .fact("expected", "package.Service/Method")
                .next(self.list_hint()));
        };
        self.load(service_name).await?;
        let Some(service) = self.schema.service(service_name) else {
            return Err(match self.service_alone(text).await? {
                Some(report) => report,
                None => self.no_service(service_name, Some(method_name)).await,
            });
        };
        find::method(&service, method_name).ok_or_else(|| {
            let names: Vec<String> = service.methods().map(|method| method.name().to_owned()).collect();
            let mut report = Report::schema(format!("{service_name} has no method `{method_name}`"))
                .fact("methods", names.join(", "));
            if let Some(near) = suggest::nearest(method_name, names.iter().map(String::as_str)) {
                report = report.next(format!("did you mean {service_name}/{near}?"));
            }
            report
        })
    }

    /// The error for a service that is there, but was named without a method.
    async fn service_alone(&mut self, name: &str) -> Result<Option<Report>, Report> {
        self.load(name).await?;
        let Some(service) = self.schema.service(name) else { return Ok(None) };
        let name = service.full_name();
        let methods: Vec<String> = service.methods().map(|method| method.name().to_owned()).collect();
        let mut report = Report::usage(format!("`{name}` is a service; a method of it is needed"));
        if let Some(first) = methods.first() {
            report = report.fact("methods", methods.join(", ")).next(format!("for example {name}/{first}"));
        }
        Ok(Some(report))
    }

    /// The error for a service that is not there.
    pub(crate) async fn no_service(&mut self, name: &str, method: Option<&str>) -> Report {
        let names = match self.service_names().await {
            Ok(names) => names,
            Err(report) => return report,
        };
        let place =
            self.server.as_ref().map_or_else(|| "the schema".to_owned(), |server| server.address.clone());
        let mut report = Report::schema(format!("{place} has no service `{name}`"));
        if names.is_empty() {
            return report.fact("services", "none");
        }
        report = report.fact("services", names.join(", "));
        if let Some(near) = find::nearest_service(name, &names) {
            let method = method.map_or_else(String::new, |method| format!("/{method}"));
            report = report.next(format!("did you mean {near}{method}?"));
        }
        report
    }

    fn list_hint(&self) -> String {
        match &self.server {
            Some(server) => format!("`peregrine list {}` shows the services", server.address),
            None => "`peregrine list` with the same files shows the services".to_owned(),
        }
    }
}

impl Server {
    async fn files(&mut self, symbol: &str) -> Result<Option<Vec<Vec<u8>>>, Report> {
        match self.reflection.files_with_symbol(symbol).await {
            Ok(files) => Ok(files),
            Err(error) => Err(self.report(error)),
        }
    }

    /// Adds files to the pool, after fetching what they import.
    async fn add(&mut self, received: Vec<Vec<u8>>, pool: &mut DescriptorPool) -> Result<(), Report> {
        let mut files = Files::default();
        let mut asked: HashSet<String> = HashSet::new();
        self.take(received, &mut files)?;
        loop {
            let missing: Vec<String> =
                files.missing_imports(pool).into_iter().filter(|name| !asked.contains(name)).collect();
            if missing.is_empty() {
                break;
            }
            for name in missing {
                let answer = self.reflection.file_by_name(&name).await.map_err(|error| self.report(error))?;
                self.take(answer.unwrap_or_default(), &mut files)?;
                asked.insert(name);
            }
        }
        files.add_to(pool).map_err(|cause| {
            Report::schema(format!("the schema that {} tells does not fit together", self.address))
                .fact("cause", cause)
                .next("give the schema with --proto or --protoset instead")
        })
    }

    fn take(&self, received: Vec<Vec<u8>>, files: &mut Files) -> Result<(), Report> {
        for bytes in received {
            files.add(bytes).map_err(|error| {
                Report::schema(format!("{} sent a file descriptor that is none", self.address))
                    .fact("cause", error)
            })?;
        }
        Ok(())
    }

    fn report(&self, error: ReflectionError) -> Report {
        match error {
            ReflectionError::Unavailable => Report::schema(format!(
                "{} has no reflection service, so its schema is unknown",
                self.address
            ))
            .fact("asked", "grpc.reflection.v1, grpc.reflection.v1alpha")
            .next("give the schema with --proto FILE or --protoset FILE"),
            ReflectionError::Status(status) => report::status(&status, "asking for the schema by reflection")
                .next("--proto FILE or --protoset FILE does without reflection"),
        }
    }
}
