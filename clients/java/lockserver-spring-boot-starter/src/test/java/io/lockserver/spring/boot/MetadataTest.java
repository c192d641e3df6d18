package io.lockserver.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.beans.PropertyDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles.Kind;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.configurationmetadata.ConfigurationMetadataProperty;
import org.springframework.boot.configurationmetadata.ConfigurationMetadataRepositoryJsonBuilder;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.javapoet.ClassName;
import org.springframework.util.ClassUtils;

import io.lockserver.spring.Locked;

/** What the starter tells tools: editors about its properties, and the makers of native images about reflection. */
class MetadataTest {
    /** An application of which no other test has made proxies: those that there are already would not be made again. */
    @Configuration
    @EnableAutoConfiguration
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    /** A bean that is locked. */
    static class Shop {
        @Locked(key = "'k'")
        void pay() {
        }
    }

    /** The properties of the starter, by name, as an editor reads them. */
    private static Map<String, ConfigurationMetadataProperty> properties() throws Exception {
        for (URL file : Collections.list(MetadataTest.class.getClassLoader().getResources("META-INF/spring-configuration-metadata.json"))) {
            try (InputStream in = file.openStream()) {
                Map<String, ConfigurationMetadataProperty> all = ConfigurationMetadataRepositoryJsonBuilder.create(in).build().getAllProperties();
                if (all.containsKey("lockserver.uris")) {
                    return all;
                }
            }
        }
        throw new AssertionError("the starter has no spring-configuration-metadata.json");
    }

    /** java.time's durations as the metadata has them: "5s". */
    private static Object shown(Object value) {
        return value instanceof Duration time ? time.toSeconds() + "s" : value;
    }

    @Test
    void editorsKnowEachProperty() throws Exception {
        Map<String, ConfigurationMetadataProperty> documented = properties();
        BeanWrapper bean = PropertyAccessorFactory.forBeanPropertyAccess(new LockserverProperties());
        PropertyDescriptor[] all = Arrays.stream(BeanUtils.getPropertyDescriptors(LockserverProperties.class)).filter(each -> each.getWriteMethod() != null)
                .toArray(PropertyDescriptor[]::new);
        Set<String> names = Arrays.stream(all).map(each -> "lockserver." + each.getName().replaceAll("([A-Z])", "-$1").toLowerCase()).collect(Collectors.toSet());
        assertEquals(names, documented.keySet());
        for (PropertyDescriptor each : all) {
            ConfigurationMetadataProperty found = documented.get("lockserver." + each.getName().replaceAll("([A-Z])", "-$1").toLowerCase());
            String text = String.valueOf(found.getDescription());
            assertTrue(text.length() > 20 && text.endsWith("."), () -> found.getId() + " has no description");
            assertTrue(found.getType().startsWith(ClassUtils.resolvePrimitiveIfNecessary(each.getPropertyType()).getName()), found::getId);
            Object value = bean.getPropertyValue(each.getName());
            if (!(value instanceof List)) {
                assertEquals(shown(value), Objects.requireNonNullElse(found.getDefaultValue(), value instanceof Boolean ? Boolean.FALSE : ""), found::getId);
            }
        }
    }

    /** The classes that the published modules look for by their names. */
    private static Set<String> lookedFor() throws IOException {
        Set<String> names = new TreeSet<>();
        for (String module : List.of("lockserver-client", "lockserver-spring", "lockserver-spring-boot-starter", "shedlock-provider-lockserver")) {
            try (Stream<Path> files = Files.walk(Path.of("..", module, "src", "main", "java"))) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    for (Matcher found = Pattern.compile("Class\\.forName\\(\"([\\w.]+)\"").matcher(Files.readString(file)); found.find();) {
                        names.add(found.group(1));
                    }
                }
            }
        }
        assertTrue(names.size() >= 3 && names.contains("org.slf4j.LoggerFactory"), names::toString);
        return names;
    }

    /** Boot's work ahead of time for a native image, which a test without GraalVM can do as well. */
    @Test
    void anApplicationIsPreparedForANativeImage() throws Exception {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(App.class);
            InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
            DefaultGenerationContext generation = new DefaultGenerationContext(new ClassNameGenerator(ClassName.get(MetadataTest.class)), files);
            new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
            generation.writeGeneratedContent();
            RuntimeHints hints = generation.getRuntimeHints();
            assertTrue(RuntimeHintsPredicates.reflection().onType(TypeReference.of("org.slf4j.LoggerFactory")).test(hints));
            for (String name : lookedFor()) {
                assertTrue(!ClassUtils.isPresent(name, null) || RuntimeHintsPredicates.reflection().onType(TypeReference.of(name)).test(hints), name);
            }
            assertTrue(RuntimeHintsPredicates.reflection().onType(LockserverProperties.class).test(hints));
            Set<String> classes = files.getGeneratedFiles(Kind.CLASS).keySet();
            assertTrue(classes.stream().anyMatch(name -> name.contains("MetadataTest$Shop$$SpringCGLIB")), classes::toString);
            Set<String> sources = files.getGeneratedFiles(Kind.SOURCE).keySet();
            assertTrue(sources.stream().anyMatch(name -> name.contains("LockserverAutoConfiguration")), sources::toString);
        }
    }
}
