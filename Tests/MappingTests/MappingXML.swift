/// Writes `xcmapping.xml` texts in Xcode's form.
struct MappingXML {
    var objects: [String] = []
    var live: [String] = []
    var source = "App/Model.xcdatamodeld/Model1.xcdatamodel"
    var destination = "App/Model.xcdatamodeld/Model2.xcdatamodel"
    /// Base64 text of the embedded models.
    var embedded = "YnBsaXN0MDA="

    /// Adds an entity mapping; with `isLive` false the mapping is an orphan.
    mutating func entityMapping(
        _ identifier: String, number: Int, source: String?, destination: String?, isLive: Bool = true,
        attributes: [(String, String)] = [], attributeMappings: [String] = [], relationshipMappings: [String] = []
    ) {
        var fields = [
            ("mappingnumber", "\(number)"), ("autogenerateexpression", "1"), ("mappingtypename", "Undefined"),
        ]
        if let source { fields.append(("sourcename", source)) }
        if let destination { fields.append(("destinationname", destination)) }
        object(
            "XDDEVENTITYMAPPING", identifier, fields + attributes,
            [
                ("mappingmodel", isLive ? ["z1"] : []), ("attributemappings", attributeMappings),
                ("relationshipmappings", relationshipMappings),
            ])
        if isLive { live.append(identifier) }
    }

    mutating func attributeMapping(_ identifier: String, _ fields: [(String, String)]) {
        object("XDDEVATTRIBUTEMAPPING", identifier, fields, [])
    }

    mutating func relationshipMapping(_ identifier: String, _ fields: [(String, String)]) {
        object("XDDEVRELATIONSHIPMAPPING", identifier, [("autogenerateexpression", "1")] + fields, [])
    }

    private mutating func object(
        _ type: String, _ identifier: String, _ attributes: [(String, String)], _ relationships: [(String, [String])]
    ) {
        var lines = [#"    <object type="\#(type)" id="\#(identifier)">"#]
        for (name, value) in attributes {
            lines.append(#"        <attribute name="\#(name)" type="string">\#(value)</attribute>"#)
        }
        for (name, targets) in relationships {
            let references = targets.isEmpty ? "" : #" idrefs="\#(targets.joined(separator: " "))""#
            lines.append(
                #"        <relationship name="\#(name)" type="0/0" destination="X"\#(references)></relationship>"#)
        }
        lines.append("    </object>")
        objects.append(lines.joined(separator: "\n"))
    }

    var text: String {
        var all = self
        all.object(
            "XDDEVMAPPINGMODEL", "z1",
            [
                ("sourcemodelpath", source), ("sourcemodeldata", embedded), ("destinationmodelpath", destination),
                ("destinationmodeldata", embedded),
            ], [("entitymappings", live)])
        return """
            <?xml version="1.0" standalone="no"?>
            <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

            <database>
                <databaseInfo><version>134481920</version></databaseInfo>
            \(all.objects.joined(separator: "\n"))
            </database>
            """
    }
}
